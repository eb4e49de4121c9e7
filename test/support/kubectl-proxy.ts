import type { Kubectl, KubectlStream } from './kubectl.ts';
import { waitFor } from './wait.ts';

/** `kubectl proxy`, for tests that read so often that a program for each time would cost more than the cluster. */
export class KubectlProxy implements AsyncDisposable {
  readonly #stream: KubectlStream;
  readonly #url: string;

  private constructor(stream: KubectlStream, url: string) {
    this.#stream = stream;
    this.#url = url;
  }

  static async start(kubectl: Kubectl): Promise<KubectlProxy> {
    const stream = kubectl.follow('proxy', '--port=0');
    try {
      const address = await waitFor('the address of the proxy', () => /127\.0\.0\.1:\d+/.exec(stream.printed)?.[0]);
      return new KubectlProxy(stream, `http://${address}`);
    } catch (error) {
      await stream[Symbol.asyncDispose]();
      throw error;
    }
  }

  async read(path: string): Promise<string> {
    return (await fetch(`${this.#url}${path}`)).text();
  }

  /** Creates objects of one collection, all at once: kubectl itself creates five in a second. */
  async create(collection: string, objects: readonly object[]): Promise<void> {
    await Promise.all(objects.map((object) => this.#create(collection, object)));
  }

  async #create(collection: string, object: object): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${this.#url}${collection}`, { method: 'POST', headers, body: JSON.stringify(object) });
    if (!answer.ok) throw new Error(`${collection}: ${await answer.text()}`);
  }

  async remove(path: string): Promise<void> {
    await fetch(`${this.#url}${path}`, { method: 'DELETE' });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stream[Symbol.asyncDispose]();
  }
}
