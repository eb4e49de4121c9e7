import type { ImageStatus } from '../runtime/port-images.ts';
import type { ImagePolicy } from './policy.ts';

/** When an image was first seen here, and when a container last used it. Lost with the kubelet. */
export interface ImageHistory {
  readonly firstSeen: number;
  readonly lastUsed: number | undefined;
}

export type ImageMemory = ReadonlyMap<string, ImageHistory>;

export interface ImageObservation {
  readonly images: readonly ImageStatus[];
  /** Ids and names that any container of the runtime has, running or ended. */
  readonly used: ReadonlySet<string>;
  /** Monotonic. */
  readonly now: number;
}

/** Images of the first observation count as old: they may be removed immediately. */
export function rememberImages(memory: ImageMemory | undefined, observed: ImageObservation): ImageMemory {
  const { images, now } = observed;
  return new Map(
    images.map((image) => {
      const before = memory?.get(image.id);
      const firstSeen = before?.firstSeen ?? (memory === undefined ? Number.NEGATIVE_INFINITY : now);
      return [image.id, { firstSeen, lastUsed: isUsed(image, observed) ? now : before?.lastUsed }];
    }),
  );
}

const isUsed = ({ id, names }: ImageStatus, { used }: ImageObservation): boolean =>
  used.has(id) || names.some((name) => used.has(name));

export interface ImagePlan {
  /** Ids, in this order, as long as there is something left to free. */
  readonly remove: readonly { readonly id: string; readonly sizeBytes: number }[];
  /** Removed regardless of free space: unused for too long. */
  readonly old: readonly string[];
  /** Bytes to free; 0 when there is enough space. */
  readonly wantedBytes: number;
}

export interface DiskRoom {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** `startedAt`: of this kubelet, which knows nothing of who used what before. */
export function decideImages(
  policy: ImagePolicy,
  observed: ImageObservation & { readonly disk: DiskRoom; readonly startedAt: number },
  memory: ImageMemory,
): ImagePlan {
  const { disk, now, startedAt } = observed;
  const candidates = unusedImages(policy, observed, memory);
  const isOld = ({ id }: ImageStatus): boolean => {
    const { firstSeen = now, lastUsed } = memory.get(id) ?? {};
    return now - Math.max(startedAt, lastUsed ?? firstSeen) > policy.maxAgeMs;
  };
  const old = policy.maxAgeMs === 0 ? [] : candidates.filter(isOld);
  const wantedBytes = bytesToFree(policy, disk);
  const rest = candidates.filter((image) => !old.includes(image));
  return {
    old: old.map(({ id }) => id),
    remove: wantedBytes === 0 ? [] : rest.map(({ id, sizeBytes }) => ({ id, sizeBytes })),
    wantedBytes,
  };
}

/** Least recently used first, of those the longest known first. */
export function unusedImages(
  { minAgeMs }: Pick<ImagePolicy, 'minAgeMs'>,
  observed: ImageObservation,
  memory: ImageMemory,
): readonly ImageStatus[] {
  const historyOf = ({ id }: ImageStatus): ImageHistory =>
    memory.get(id) ?? { firstSeen: observed.now, lastUsed: undefined };
  return observed.images
    .filter((image) => image.pinned !== true && !isUsed(image, observed))
    .filter((image) => observed.now - historyOf(image).firstSeen >= minAgeMs)
    .toSorted((a, b) => {
      const [ofA, ofB] = [historyOf(a), historyOf(b)];
      return (
        byTime(ofA.lastUsed ?? Number.NEGATIVE_INFINITY, ofB.lastUsed ?? Number.NEGATIVE_INFINITY) ||
        byTime(ofA.firstSeen, ofB.firstSeen)
      );
    });
}

const byTime = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

function bytesToFree({ highPercent, lowPercent }: ImagePolicy, { capacityBytes, availableBytes }: DiskRoom): number {
  if (capacityBytes === 0 || highPercent >= 100) return 0;
  const usedPercent = 100 - Math.floor((availableBytes * 100) / capacityBytes);
  if (usedPercent < highPercent) return 0;
  return Math.max(0, Math.floor((capacityBytes * (100 - lowPercent)) / 100) - availableBytes);
}
