import type { PullProgress } from '../port-images.ts';
import type { PullLine } from './engine-types.ts';
import { PULL_LAYERS_MAX } from './limits.ts';

interface Layer {
  readonly bytes: number;
  readonly totalBytes: number;
  readonly isDone: boolean;
}

const DONE = new Set(['Pull complete', 'Already exists']);
/** Before it an engine says other things with an id: the tag, for one. */
const BEGUN = new Set([
  'Pulling fs layer',
  'Waiting',
  'Downloading',
  'Verifying Checksum',
  'Download complete',
  'Extracting',
]);

/** Adds up what an engine says about the layers of one pull. */
export class PullLayers {
  readonly #layers = new Map<string, Layer>();

  take({ id, status, progressDetail }: PullLine): void {
    if (id === undefined || status === undefined) return;
    const known = this.#layers.get(id);
    if (known === undefined && this.#layers.size >= PULL_LAYERS_MAX) return;
    const layer = known ?? { bytes: 0, totalBytes: 0, isDone: false };
    if (DONE.has(status)) this.#layers.set(id, { ...layer, bytes: layer.totalBytes, isDone: true });
    else if (status === 'Downloading') {
      const { current = layer.bytes, total = layer.totalBytes } = progressDetail ?? {};
      this.#layers.set(id, { ...layer, bytes: current, totalBytes: Math.max(total, current) });
    } else if (BEGUN.has(status)) this.#layers.set(id, layer);
  }

  get progress(): PullProgress {
    const layers = [...this.#layers.values()];
    const sum = (of: (layer: Layer) => number): number => layers.reduce((all, layer) => all + of(layer), 0);
    return {
      bytes: sum(({ bytes }) => bytes),
      totalBytes: sum(({ totalBytes }) => totalBytes),
      layers: layers.length,
      layersDone: sum(({ isDone }) => (isDone ? 1 : 0)),
    };
  }
}
