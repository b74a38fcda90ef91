# rpact (R) on the benchmark's walk: Rscript rpact.R LOOKS.csv MEANS.csv RESULT.csv; prints CPU seconds and version.
#
# getGroupSequentialProbabilities wants the walk without drift: the bounds of z_j are shifted by mu_std sqrt(t_j)
# instead. Of its rows the first is P(z_j below the lower bound, inside before), the second P(z_j below the upper one,
# inside before). It takes information rates up to 1, and the walk depends on ratios of information only.
suppressMessages(library(rpact))

files <- commandArgs(trailingOnly = TRUE)
looks <- read.csv(files[1])
means <- read.csv(files[2])$mu_std
gaps <- diff(c(looks$pi, 1))

one_mean <- function(mu_std) {
  shift <- mu_std * sqrt(looks$t)
  bounds <- rbind(-looks$bound - shift, looks$bound - shift)
  p <- getGroupSequentialProbabilities(bounds, looks$t / max(looks$t))
  c(error = sum(p[1, ]), usage = looks$pi[1] + sum(gaps * (p[2, ] - p[1, ])))
}

refuse <- function(condition) {
  message(conditionMessage(condition))
  quit(status = 1)
}

seconds <- c()
while (length(seconds) < 3 || (length(seconds) < 20 && sum(seconds) < 1)) {
  start <- proc.time()
  found <- tryCatch(vapply(means, one_mean, numeric(2)), error = refuse)
  seconds <- c(seconds, sum((proc.time() - start)[1:2]))
  if (sum(seconds) > 5) break
}
write.csv(format(base::t(found), digits = 17), files[3], row.names = FALSE, quote = FALSE)
cat(min(seconds), as.character(packageVersion("rpact")), "\n")
