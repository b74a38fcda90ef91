# Builds the wheel, then runs it as an unprivileged user with the kernels already compiled. `make container-check` builds
# it and checks what runs, `make docker-check` takes the same steps in a virtual environment. It needs no capability and
# writes nowhere: docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges -p 8501:8501 …
#
# The kernels are compiled for the processor that builds the image, and ready on machines of its type. On another type
# they are compiled again (10 s of processor time until the dashboard is warm), at every start unless what is compiled
# can be kept: --volume austerity-numba:/home/austerity/numba. Kernels for any processor would always be ready, and slow:
# NUMBA_CPU_NAME=generic takes 2.7 times as long as native on one with AVX-512, x86-64-v3 1.5 times.
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY designer designer
COPY samplers samplers
COPY app app
COPY austerity austerity
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
RUN useradd --create-home --uid 1000 austerity
ENV NUMBA_CACHE_DIR=/home/austerity/numba PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels
USER austerity
WORKDIR /home/austerity
# compiles the kernels into NUMBA_CACHE_DIR and fails the build if the engine is wrong on this machine
RUN austerity selfcheck && python -c "from app.dashboard.serve.server import warm; warm()"
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "from urllib.request import urlopen; assert urlopen('http://127.0.0.1:8501/_austerity/health', timeout=4).read() == b'ok'"]
ENTRYPOINT ["austerity"]
CMD ["app", "--host", "0.0.0.0", "--no-browser"]
