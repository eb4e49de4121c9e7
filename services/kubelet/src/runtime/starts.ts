/** Starts of containers in progress. A second request for the same container joins the first. */
export class Starts {
  readonly #running = new Map<string, Promise<void>>();

  async run(id: string, start: () => Promise<void>): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const starting = start();
    this.#running.set(id, starting);
    try {
      await starting;
    } finally {
      this.#running.delete(id);
    }
  }

  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** Resolves when the start in progress has ended, successful or not. */
  async settled(id: string): Promise<void> {
    await this.#running.get(id)?.catch(() => undefined);
  }
}
