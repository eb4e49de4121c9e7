/** A file or a folder. Names are durable at once, as on a file system with a journal; bytes only after an fsync. */
export class ForgetfulNode {
  readonly id: number;
  readonly isFolder: boolean;
  mode: number;
  readonly children = new Map<string, ForgetfulNode>();
  size = 0;
  /** Names that lead here. */
  links = 1;
  #bytes = Buffer.alloc(0);
  /** What has to be done, last first, to return to what was synced. */
  #undo: { readonly size: number; readonly at: number; readonly before: Buffer }[] = [];

  constructor(id: number, mode: number, isFolder: boolean) {
    this.id = id;
    this.mode = mode;
    this.isFolder = isFolder;
  }

  read(at: number, length: number): Buffer {
    return this.#bytes.subarray(Math.min(at, this.size), Math.min(at + length, this.size));
  }

  write(at: number, data: Buffer): void {
    const end = at + data.length;
    this.#remember(at, end);
    this.#grow(end);
    data.copy(this.#bytes, at);
    this.size = Math.max(this.size, end);
  }

  resize(size: number): void {
    this.#remember(size, this.size);
    this.#grow(size);
    if (size < this.size) this.#bytes.fill(0, size, this.size);
    this.size = size;
  }

  sync(): void {
    this.#undo = [];
  }

  /** Returns to what was synced last. Returns the bytes that were written or removed since. */
  forget(): number {
    let forgotten = 0;
    for (const { size, at, before } of this.#undo.toReversed()) {
      forgotten += Math.abs(this.size - size) + before.length;
      this.#grow(size);
      if (size < this.size) this.#bytes.fill(0, size, this.size);
      before.copy(this.#bytes, at);
      this.size = size;
    }
    this.#undo = [];
    return forgotten;
  }

  #remember(from: number, to: number): void {
    this.#undo.push({ size: this.size, at: from, before: Buffer.from(this.read(from, Math.max(0, to - from))) });
  }

  #grow(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(size, 2 * this.#bytes.length, 4_096));
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }
}
