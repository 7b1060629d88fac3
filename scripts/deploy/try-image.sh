#!/usr/bin/env bash
# Builds the image and proves that it does what the deployment files rely on: it starts read-only, without a network and
# without root, answers /health/ready with 200, and ends cleanly on SIGTERM. Ends with "the image works", or with what does
# not. Leaves the image and its base, and nothing else.
#
#   scripts/deploy/try-image.sh                  # with the engine that `docker` speaks to
#   ENGINE=podman scripts/deploy/try-image.sh    # with another one
#   IMAGE=registry.example/agent-gateway:2.4.0 scripts/deploy/try-image.sh
#
# The base image comes from a registry. Where none can be reached it is made here, from Debian's packages (debootstrap, as
# root) and the Node of node_modules. npm's registry, and what it trusts (NODE_EXTRA_CA_CERTS), are those of this machine.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
engine=${ENGINE:-docker}
image=${IMAGE:-agent-gateway:try}
context=${CONTEXT:-$root}
work=$(mktemp -d)
container=agent-gateway-try-$$
export DOCKER_BUILDKIT=1
# Podman's own format of images has no HEALTHCHECK.
export BUILDAH_FORMAT=docker

clean_up() {
  "$engine" rm --force --volumes "$container" >/dev/null 2>&1 || true
  "$engine" volume rm --force "$container" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT

fail() {
  echo "the image does not work: $*" >&2
  "$engine" logs "$container" 2>&1 | tail -20 >&2 || true
  exit 1
}

# What would only be found after minutes.
"$engine" --version >/dev/null 2>&1 || { echo "there is no $engine: name an engine with ENGINE" >&2; exit 1; }
if "$engine" --version | grep --quiet --ignore-case docker && ! "$engine" buildx version >/dev/null 2>&1; then
  echo "$engine has no BuildKit, which the Dockerfile needs for its secrets and caches: install its buildx plugin" >&2
  exit 1
fi

# An image like node:24-slim: Debian, Node and npm, with /bin/sh and nothing to compile with.
make_base_image() {
  command -v debootstrap >/dev/null || fail "$1 cannot be pulled, and there is no debootstrap to make a base image with"
  echo "== $1 cannot be pulled: making agent-gateway-base:local from Debian's packages"
  debootstrap --variant=minbase --include=ca-certificates,libstdc++6 stable "$work/base" >"$work/debootstrap.log" 2>&1 ||
    { tail -20 "$work/debootstrap.log" >&2; fail 'debootstrap failed'; }
  install -D "$root/node_modules/node/bin/node" "$work/base/usr/local/bin/node"
  mkdir -p "$work/base/usr/local/lib/node_modules"
  cp -r "$(dirname "$(readlink --canonicalize "$(command -v npm)")")/.." "$work/base/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/base/usr/local/bin/npm"
  tar --create --directory "$work/base" . | "$engine" import - agent-gateway-base:local >/dev/null
}

base=$(sed -n 's/^ARG NODE_IMAGE=//p' "$root/Dockerfile")
if ! "$engine" image inspect "$base" >/dev/null 2>&1 && ! "$engine" pull --quiet "$base" >/dev/null 2>&1; then
  "$engine" image inspect agent-gateway-base:local >/dev/null 2>&1 || make_base_image "$base"
  base=agent-gateway-base:local
fi

echo "== building $image on $base"
{ cat "$HOME/.npmrc" 2>/dev/null || true; echo "registry=$(npm config get registry 2>/dev/null)"; } >"$work/npmrc"
cp "${NODE_EXTRA_CA_CERTS:-/dev/null}" "$work/ca"
# An engine without a bridge builds on the host's network; the others on their own default, which has no common name.
network=()
"$engine" network inspect bridge >/dev/null 2>&1 || "$engine" network inspect podman >/dev/null 2>&1 || network=(--network host)
"$engine" build ${network[@]+"${network[@]}"} --build-arg "NODE_IMAGE=$base" --secret "id=npmrc,src=$work/npmrc" \
  --secret "id=ca,src=$work/ca" --tag "$image" "$context" >"$work/build.log" 2>&1 || { tail -40 "$work/build.log" >&2; fail 'the build failed'; }

echo '== starting it read-only, without network, capabilities or root'
"$engine" run --detach --name "$container" --network none --read-only --tmpfs /tmp --volume "$container:/data" \
  --cap-drop ALL --security-opt no-new-privileges "$image" >/dev/null

# The program runs inside: nothing has to be published.
inside() { "$engine" exec "$container" node -e "$1"; }

ready='fetch("http://127.0.0.1:8080/health/ready").then(async (r) => { console.log(r.status, await r.text()); process.exit(r.ok ? 0 : 1) }, (e) => { console.log(e.cause?.code ?? e.message); process.exit(1) })'
for _ in $(seq 60); do
  if answer=$(inside "$ready" 2>&1); then break; fi
  [ "$("$engine" inspect --format '{{.State.Running}}' "$container")" = true ] || fail 'it ended by itself'
  sleep 0.5
done
case $answer in '200 '*) echo "/health/ready: $answer" ;; *) fail "/health/ready: $answer" ;; esac

user=$(inside 'console.log(process.getuid())')
[ "$user" -ge 10000 ] || fail "it runs as user $user"
inside 'fs.writeFileSync("/app/x", "")' >/dev/null 2>&1 && fail 'it can write to its own code'
inside 'fs.accessSync("/app/node_modules/.cache/packages/manifest.json")' >/dev/null 2>&1 ||
  fail 'it cannot read the packages that were bundled for its start'
first=$(inside 'console.log(fs.readFileSync("/proc/1/comm", "utf8").trim())')
[ "$first" = tini ] || fail "process 1 is $first, not tini"
[ -z "$("$engine" run --rm --network none --entrypoint sh "$image" -c 'ls -d node_modules/ava node_modules/typescript 2>/dev/null || true')" ] ||
  fail 'it holds packages of development'
# The image's own check, as the engine runs it.
health=$("$engine" inspect --format '{{json .Config.Healthcheck}}' "$container" |
  node -p 'JSON.parse(fs.readFileSync(0))?.Test[3] ?? ""')
[ -n "$health" ] || fail 'it has no HEALTHCHECK'
inside "$health" || fail 'its HEALTHCHECK fails while it is ready'

echo '== stopping it'
"$engine" stop --time 45 "$container" >/dev/null
code=$("$engine" inspect --format '{{.State.ExitCode}}' "$container")
[ "$code" = 0 ] || fail "SIGTERM ended it with code $code"
"$engine" logs "$container" 2>&1 | grep -q '"msg":"stopped"' || fail 'it did not stop cleanly'

size=$("$engine" image inspect --format '{{.Size}}' "$image")
base_size=$("$engine" image inspect --format '{{.Size}}' "$base")
echo "the image works: $((size / 1048576)) MiB, of which the base image is $((base_size / 1048576)) MiB"
