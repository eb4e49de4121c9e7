/** A binary heap. `before` returns true for the item that is nearer to the top. */
export class BinaryHeap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let at = this.#items.length;
    this.#items.push(item);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = this.#items[parentAt];
      if (parent === undefined || !this.#before(item, parent)) break;
      this.#items[at] = parent;
      at = parentAt;
    }
    this.#items[at] = item;
  }

  pop(): T | undefined {
    const [top] = this.#items;
    const last = this.#items.pop();
    if (top === undefined || last === undefined || this.#items.length === 0) return top;
    this.#sinkFromTop(last);
    return top;
  }

  #sinkFromTop(item: T): void {
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = this.#items[childAt];
      const right = this.#items[childAt + 1];
      if (child !== undefined && right !== undefined && this.#before(right, child)) {
        childAt++;
        child = right;
      }
      if (child === undefined || !this.#before(child, item)) break;
      this.#items[at] = child;
      at = childAt;
    }
    this.#items[at] = item;
  }
}
