import type { Node } from '@holdfast/api';

/** On how many nodes each container image is, kept current with the nodes' reports. */
export class ImageIndex {
  readonly #nodes = new Map<string, number>();

  nodesWith(image: string): number {
    return this.#nodes.get(image) ?? 0;
  }

  replace(before: Node | undefined, after: Node | undefined): void {
    if (before?.status.images === after?.status.images) return;
    for (const name of namesOf(before)) this.#change(name, -1);
    for (const name of namesOf(after)) this.#change(name, 1);
  }

  #change(name: string, by: 1 | -1): void {
    const count = this.nodesWith(name) + by;
    if (count > 0) this.#nodes.set(name, count);
    else this.#nodes.delete(name);
  }
}

function namesOf(node: Node | undefined): ReadonlySet<string> {
  return new Set((node?.status.images ?? []).flatMap(({ names = [] }) => names));
}

/** Sizes of the images that a node holds, by name. */
export function imageSizes(node: Node): ReadonlyMap<string, number> {
  return new Map(
    (node.status.images ?? []).flatMap(({ names = [], sizeBytes = 0 }) =>
      names.map((name) => [name, sizeBytes] as const),
    ),
  );
}
