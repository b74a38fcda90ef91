# Builds the wheel, then runs it as an unprivileged user with the kernels already compiled.
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md ./
COPY designer designer
COPY samplers samplers
COPY app app
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
RUN useradd --create-home --uid 1000 austerity
ENV NUMBA_CACHE_DIR=/home/austerity/numba PYTHONUNBUFFERED=1
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels
USER austerity
WORKDIR /home/austerity
# compiles the kernels into NUMBA_CACHE_DIR and fails the build if the engine is wrong on this machine
RUN austerity selfcheck && austerity demo
ENTRYPOINT ["austerity"]
CMD ["demo"]
