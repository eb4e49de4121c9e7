import type { ApiClient } from '@holdfast/client';
import { isApiAway } from '../domain/api-away.ts';
import { REMEMBERED_TEXTS_CHARS_MAX } from '../limits.ts';
import { readTexts } from '../volumes/referenced-data.ts';

type Texts = Readonly<Record<string, string>> | undefined;

/** The ConfigMaps and Secrets of one pod's variables, as this process read them last: a restart does not wait for an API that is away. */
export class ReferencedTexts {
  readonly #client: ApiClient;
  readonly #known = new Map<string, Texts>();

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** The data of `ConfigMap/name` or `Secret/name`; `undefined` when it does not exist. */
  async read(namespace: string, reference: string): Promise<Texts> {
    try {
      const found = await readTexts(this.#client, namespace, reference);
      this.#remember(reference, found);
      return found;
    } catch (error) {
      if (!isApiAway(error) || !this.#known.has(reference)) throw error;
      return this.#known.get(reference);
    }
  }

  #remember(reference: string, texts: Texts): void {
    this.#known.delete(reference);
    const remembered = [...this.#known.values()].reduce((sum, each) => sum + sizeOf(each), 0);
    if (remembered + sizeOf(texts) <= REMEMBERED_TEXTS_CHARS_MAX) this.#known.set(reference, texts);
  }
}

const sizeOf = (texts: Texts): number =>
  Object.entries(texts ?? {}).reduce((sum, [key, text]) => sum + key.length + text.length, 0);
