import type { Request } from './domain/requests.ts';
import type { FencedVolume } from './fenced-volume.ts';
import { Refusal, type Volumes } from './volumes.ts';

export interface SessionAnswer {
  /** `ok ...` or `data LENGTH`. */
  readonly line: string;
  readonly payload?: Buffer;
}

interface Opened {
  readonly volume: FencedVolume;
  readonly token: number;
}

/** The requests of one connection. The first one opens its volume; a later `open` replaces it. */
export class Session {
  readonly #volumes: Volumes;
  readonly #sizeMax: number;
  #opened: Opened | undefined;

  constructor(volumes: Volumes, sizeMax: number) {
    this.#volumes = volumes;
    this.#sizeMax = sizeMax;
  }

  isOpen(): boolean {
    return this.#opened !== undefined;
  }

  async answer(request: Request): Promise<SessionAnswer> {
    if (request.kind === 'open') return this.#open(request);
    const opened = this.#opened;
    if (opened === undefined) throw new Refusal('denied', 'no volume is open');
    const { volume, token } = opened;
    switch (request.kind) {
      case 'read': {
        this.#refuseBeyond(request.offset, request.length);
        const payload = await volume.run(token, (data) => data.read(request.offset, request.length));
        return { line: `data ${payload.length}`, payload };
      }
      case 'write':
        this.#refuseBeyond(request.offset, request.bytes.length);
        await volume.run(token, (data) => data.write(request.offset, request.bytes));
        return { line: 'ok' };
      case 'flush':
        await volume.run(token, (data) => data.flush());
        return { line: 'ok' };
      case 'stat':
        return { line: `ok ${this.#sizeMax} ${volume.token()}` };
    }
  }

  async #open({ volume, token, proof }: Extract<Request, { kind: 'open' }>): Promise<SessionAnswer> {
    this.#opened = undefined;
    this.#opened = { volume: await this.#volumes.open(volume, token, proof), token };
    return { line: `ok ${this.#sizeMax}` };
  }

  #refuseBeyond(offset: number, length: number): void {
    if (offset + length <= this.#sizeMax) return;
    throw new Refusal('range', `the volume has ${this.#sizeMax} bytes`);
  }
}
