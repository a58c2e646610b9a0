# Lockstep in a container, for the virtual GPU: docker build -t lockstep . && docker run -it lockstep ./lockstep run mnist
# Untested: written beside the script that was tested on a clean Debian (tests/product/clean_machine.sh), which installs the same packages.
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git sudo && rm -rf /var/lib/apt/lists/*
COPY . /lockstep
WORKDIR /lockstep
RUN ./lockstep build sim
CMD ["./lockstep", "run", "mnist"]
