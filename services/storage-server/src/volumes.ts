import { timingSafeEqual } from 'node:crypto';
import { volumeKey, volumeProof } from '@holdfast/client/storage-server';
import type { VolumeBackend } from './backends/port.ts';
import { FencedVolume } from './fenced-volume.ts';

/** The answer to a client whose request is understood and refused. `code` is part of the protocol. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: 'denied' | 'full' | 'range';

  constructor(code: Refusal['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface VolumesOptions {
  readonly backend: VolumeBackend;
  readonly masterKey: string;
  readonly volumesMax: number;
}

/** All volumes of the server, opened by proof. */
export class Volumes {
  readonly #options: VolumesOptions;
  readonly #open = new Map<string, FencedVolume>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /** Resolves when the token is accepted. A volume is made by the first proof for it. */
  async open(name: string, token: number, proof: string): Promise<FencedVolume> {
    const { backend, masterKey, volumesMax } = this.#options;
    const right = volumeProof(volumeKey(masterKey, name), name, token);
    if (!timingSafeEqual(Buffer.from(right), Buffer.from(proof)))
      throw new Refusal('denied', `the proof does not fit volume ${name} and token ${token}`);
    if (!this.#open.has(name) && !backend.exists(name) && this.#count() >= volumesMax)
      throw new Refusal('full', `the server has its ${volumesMax} volumes (--max-volumes)`);
    const volume = this.#open.get(name) ?? new FencedVolume(name, backend);
    this.#open.set(name, volume);
    await volume.open(token);
    return volume;
  }

  count(): number {
    return this.#options.backend.count();
  }

  /** Those that are being made count, too. */
  #count(): number {
    const { backend } = this.#options;
    return backend.count() + [...this.#open.keys()].filter((name) => !backend.exists(name)).length;
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#open.values()].map((volume) => volume.idle()));
  }
}
