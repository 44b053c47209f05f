# Everything that the workflow needs on a CPU. Build it in the root of the repository: docker build --tag kinoflow .
FROM python:3.11-slim-bookworm

# git: DVC works in a repository; make: the two commands
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git=1:2.* make=4.* \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /kinoflow
COPY envs/requirements.txt envs/requirements.txt
RUN python -m pip install --no-cache-dir --requirement envs/requirements.txt

COPY . .
RUN python -m pip install --no-cache-dir --no-deps .

ENV OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg
WORKDIR /work
ENTRYPOINT ["kinoflow"]
CMD ["--help"]
