import { GatewayError } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';
import type { Exchange, ResponseHead } from './exchange.ts';
import { connectionFailure } from './provider-errors.ts';
import type { Redact } from './redact.ts';
import { inSeconds } from './timeouts.ts';

/** The response of a provider, its body read under the idle deadline. Reading throws errors of `ModelErrors`. */
export class ProviderResponse {
  readonly head: ResponseHead;
  readonly #exchange: Exchange;
  readonly #idleMs: number;
  readonly #redact: Redact;

  constructor(exchange: Exchange, head: ResponseHead, idleMs: number, redact: Redact) {
    this.head = head;
    this.#exchange = exchange;
    this.#idleMs = idleMs;
    this.#redact = redact;
  }

  /** The next bytes of the body, undefined at its end. */
  async read(idleMs = this.#idleMs): Promise<Buffer | undefined> {
    let idle: NodeJS.Timeout | undefined;
    if (!this.#exchange.hasData) {
      idle = setTimeout(() => this.cancel(silence(idleMs)), idleMs);
    }
    try {
      return await this.#exchange.read();
    } catch (error) {
      throw error instanceof GatewayError ? error : connectionFailure(error as Error, true, this.#redact);
    } finally {
      clearTimeout(idle);
    }
  }

  /** The whole body, undefined (and the connection closed) when it is longer than `maxBytes`. */
  async readAll(maxBytes: number): Promise<string | undefined> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        this.cancel();
        return undefined;
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes).toString('utf8');
  }

  /** The beginning of the body, as much of it as arrives in time; afterwards the response is over. Never throws. */
  async peek(maxBytes: number, idleMs: number): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      while (bytes < maxBytes) {
        const chunk = await this.read(idleMs);
        if (chunk === undefined) break;
        chunks.push(chunk);
        bytes += chunk.length;
      }
    } catch {
      // What has arrived before the connection broke is all that there is to tell.
    }
    this.cancel();
    return Buffer.concat(chunks, bytes).toString('utf8', 0, Math.min(bytes, maxBytes));
  }

  /** Lets go of a body that is over but for its ending, so that the connection can serve again. */
  finish(): void {
    this.#exchange.finish();
  }

  /** Closes the connection, unless the body has ended. */
  cancel(reason: Error = ModelErrors.aborted()): void {
    this.#exchange.cancel(reason);
  }
}

function silence(idleMs: number): GatewayError {
  return ModelErrors.timeout(`The model provider sent nothing for ${inSeconds(idleMs)} while answering.`);
}
