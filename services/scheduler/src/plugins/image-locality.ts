import type { NodeInfo } from '../domain/node-info.ts';
import { allContainers } from '../domain/pod-info.ts';
import { define } from '../framework/definition.ts';
import { NODE_SCORE_MAX } from '../limits.ts';

const MEGABYTE = 1024 * 1024;
/** Smaller images are pulled quickly; above the maximum per container all nodes count as equal. */
const SMALLEST = 23 * MEGABYTE;
const LARGEST_PER_CONTAINER = 1_000 * MEGABYTE;

/** Prefers nodes that have the pod's images. An image on few nodes weighs less, so that these are not overloaded. */
export const IMAGE_LOCALITY = define(
  'ImageLocality',
  ['score'],
  () => ({
    preScore: ({ pod: { pod }, snapshot }) => {
      const images = allContainers(pod).map(({ image = '' }) => withTag(image));
      if (images.every((image) => snapshot.nodesWithImage(image) === 0)) return undefined;
      const weights = images.map((image) => {
        const share = snapshot.nodesWithImage(image) / snapshot.nodes.length;
        return Math.trunc(snapshot.imageSize(image) * share);
      });
      return { score: (node) => scoreOf(node, images, weights) };
    },
  }),
  1,
);

function scoreOf(node: NodeInfo, images: readonly string[], weights: readonly number[]): number {
  let sum = 0;
  for (const [i, image] of images.entries()) if (node.images.has(image)) sum += weights[i] ?? 0;
  const largest = LARGEST_PER_CONTAINER * images.length;
  const within = Math.min(Math.max(sum, SMALLEST), largest);
  return Math.trunc((NODE_SCORE_MAX * (within - SMALLEST)) / (largest - SMALLEST));
}

function withTag(image: string): string {
  return image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
}
