import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Clock, Ids, Logger } from 'agent-gateway';
import Docker from 'dockerode';
import type { SandboxLanguage } from '../../../contract.ts';
import type { EngineEnd, EngineRun, SandboxEngine } from '../engine.ts';
import { containerInput, containerName, containerSpec } from './container-spec.ts';
import { dockerFailure } from './docker-failure.ts';
import { dockerOptions } from './docker-host.ts';
import { removeContainer, removeLeftovers } from './docker-leftovers.ts';
import { createFrameReader } from './frames.ts';

/** What the Docker engine works with. */
export interface DockerEngineOptions {
  /** `DOCKER_HOST`; the local socket where it is undefined. */
  readonly host: string | undefined;
  readonly images: Readonly<Record<SandboxLanguage, string>>;
  readonly allowNetwork: boolean;
  readonly memoryBytes: number;
  /** Milliseconds that a start may take; it decides when a container is a leftover. */
  readonly startTimeoutMs: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** How often leftovers of crashed gateways are looked for. */
const SWEEP_MS = 120_000;
/** How long after its time a container may still be on its way out. */
const LEFTOVER_MS = 60_000;
/** How long the stream may stay open once the container has ended. */
const DRAIN_MS = 2000;
const INSPECT_MS = 5000;
const CREATE_MS = 60_000;

/**
 * Code in Docker: one container each, made for it and removed after it. Images are never pulled.
 *
 * @throws TypeError for a host that is no address
 */
export function openDockerEngine(options: DockerEngineOptions): SandboxEngine {
  const { images, allowNetwork, memoryBytes, startTimeoutMs, clock, ids, log } = options;
  const docker = new Docker(dockerOptions(options.host));
  const closing = new AbortController();

  async function sweep(): Promise<void> {
    try {
      const removed = await removeLeftovers(docker, clock.now());
      if (removed > 0) log.warn({ removed }, 'containers that a gateway had left were removed');
    } catch (err) {
      if (!closing.signal.aborted) log.warn({ err }, 'leftover containers could not be removed');
    }
  }

  async function run({ job, stop, started, stdout, stderr }: EngineRun): Promise<EngineEnd> {
    const runId = ids.opaque();
    const image = images[job.language];
    const input = containerInput(job);
    const deadline = clock.now() + startTimeoutMs + job.timeoutMs + LEFTOVER_MS;
    const hasNetwork = allowNetwork && job.allowNetwork;
    let stream: Duplex | undefined;
    let wantedImage: string | undefined = image;
    try {
      const spec = containerSpec({ job, runId, image, hasNetwork, memoryBytes, deadline }, input.length);
      const container = await create(spec, stop);
      wantedImage = undefined;
      stream = (await container.attach({
        ...{ stream: true, stdin: true, stdout: true, stderr: true, hijack: true },
        abortSignal: stop,
      })) as Duplex;
      stream.on('data', createFrameReader(stdout, stderr));
      const drained = finished(stream, { writable: false }).catch(() => undefined);
      await container.start({ abortSignal: stop });
      started();
      stream.end(input);
      const { StatusCode } = (await container.wait({ abortSignal: stop })) as { StatusCode: number };
      await within(drained, DRAIN_MS);
      const { State } = await container.inspect({ abortSignal: AbortSignal.timeout(INSPECT_MS) });
      if (!State.OOMKilled) return { exitCode: StatusCode };
      return {
        exitCode: null,
        note: `it used more than ${Math.floor(memoryBytes / 1_048_576)} MiB of memory`,
      };
    } catch (error) {
      throw dockerFailure(error, wantedImage);
    } finally {
      stream?.destroy();
      // Also where the answer to its creation never came: the name was ours to choose.
      await remove(containerName(runId));
    }
  }

  /** Not given up when it is to stop: the engine would make the container all the same, behind its removal. */
  async function create(spec: Docker.ContainerCreateOptions, stop: AbortSignal): Promise<Docker.Container> {
    const container = await docker.createContainer({ ...spec, abortSignal: AbortSignal.timeout(CREATE_MS) });
    stop.throwIfAborted();
    return container;
  }

  async function remove(name: string): Promise<void> {
    try {
      await removeContainer(docker, name);
    } catch (err) {
      log.warn({ err, container: name }, 'a container could not be removed now; the sweep will');
    }
  }

  const timer = setInterval(() => void sweep(), SWEEP_MS);
  timer.unref();
  const firstSweep = sweep();
  return {
    graceMs: 0,
    run,
    async [Symbol.asyncDispose]() {
      closing.abort();
      clearInterval(timer);
      await firstSweep;
    },
  };
}

/** Waits for it, but not longer than that. */
async function within(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
