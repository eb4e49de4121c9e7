import type { Node } from '@holdfast/api';

interface Image {
  /** As reported by the first node with the image. */
  readonly sizeBytes: number;
  nodes: number;
}

/** Number of nodes per container image, kept current with the nodes' reports. */
export class ImageIndex {
  readonly #images = new Map<string, Image>();

  nodesWith(image: string): number {
    return this.#images.get(image)?.nodes ?? 0;
  }

  /** The same for every node with the image. */
  sizeOf(image: string): number {
    return this.#images.get(image)?.sizeBytes ?? 0;
  }

  replace(before: Node | undefined, after: Node | undefined): void {
    if (before?.status.images === after?.status.images) return;
    for (const name of imageSizes(before).keys()) this.#leave(name);
    for (const [name, sizeBytes] of imageSizes(after)) this.#enter(name, sizeBytes);
  }

  #enter(name: string, sizeBytes: number): void {
    const image = this.#images.get(name) ?? { sizeBytes, nodes: 0 };
    image.nodes++;
    this.#images.set(name, image);
  }

  #leave(name: string): void {
    const image = this.#images.get(name);
    if (image === undefined) return;
    image.nodes--;
    if (image.nodes === 0) this.#images.delete(name);
  }
}

/** By name; a duplicate name keeps its first size. */
function imageSizes(node: Node | undefined): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { names = [], sizeBytes = 0 } of node?.status.images ?? []) {
    for (const name of names) if (!sizes.has(name)) sizes.set(name, sizeBytes);
  }
  return sizes;
}

export function imageNames(node: Node): ReadonlySet<string> {
  return new Set((node.status.images ?? []).flatMap(({ names = [] }) => names));
}
