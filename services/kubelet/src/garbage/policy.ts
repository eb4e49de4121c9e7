import { OperatorError } from '@holdfast/platform';

/** When unused images are removed. */
export interface ImagePolicy {
  /** Used percentage of the disk above which images are removed ... */
  readonly highPercent: number;
  /** ... until it is this again. 100 for `highPercent`: never. */
  readonly lowPercent: number;
  /** An image that was pulled a moment ago is about to be used. */
  readonly minAgeMs: number;
  /** Unused for longer, it is removed however much room there is; 0: never. */
  readonly maxAgeMs: number;
}

/** Which ended containers are kept for their logs. */
export interface ContainerPolicy {
  readonly minAgeMs: number;
  /** Per container of an existing pod; negative: all. */
  readonly perContainer: number;
  /** Per node; negative: all. */
  readonly total: number;
}

export interface GarbagePolicy {
  readonly images: ImagePolicy;
  readonly containers: ContainerPolicy;
}

/** The kubelet's own flags and defaults. */
export const GARBAGE_SETTINGS = {
  'image-gc-high-threshold': {
    kind: 'integer',
    help: 'usage percentage of the image disk above which unused images are removed; 100 = never',
    default: 85,
    min: 0,
    max: 100,
  },
  'image-gc-low-threshold': {
    kind: 'integer',
    help: 'usage percentage down to which images are removed',
    default: 80,
    min: 0,
    max: 100,
  },
  'minimum-image-ttl-duration': { kind: 'duration', help: 'minimum age of a removed image', default: '2m0s' },
  'image-maximum-gc-age': {
    kind: 'duration',
    help: 'age after the last use at which images are removed; 0 = never',
    default: '0',
  },
  'minimum-container-ttl-duration': {
    kind: 'duration',
    help: 'minimum age of a removed ended container',
    default: '0',
  },
  'maximum-dead-containers-per-container': {
    kind: 'integer',
    help: 'number of ended containers to keep per container, for their logs; negative = all',
    default: 1,
  },
  'maximum-dead-containers': {
    kind: 'integer',
    help: 'number of ended containers to keep per node; negative = all',
    default: -1,
  },
} as const;

export interface GarbageFlags {
  readonly 'image-gc-high-threshold': number;
  readonly 'image-gc-low-threshold': number;
  readonly 'minimum-image-ttl-duration': number;
  readonly 'image-maximum-gc-age': number;
  readonly 'minimum-container-ttl-duration': number;
  readonly 'maximum-dead-containers-per-container': number;
  readonly 'maximum-dead-containers': number;
}

/** Throws an `OperatorError` that names the flag. */
export function readGarbagePolicy(flags: GarbageFlags): GarbagePolicy {
  const { 'image-gc-high-threshold': highPercent, 'image-gc-low-threshold': lowPercent } = flags;
  if (lowPercent >= highPercent)
    throw bad('image-gc-low-threshold', `${lowPercent} must be lower than --image-gc-high-threshold (${highPercent})`);
  const minAgeMs = flags['minimum-image-ttl-duration'];
  const maxAgeMs = flags['image-maximum-gc-age'];
  if (maxAgeMs !== 0 && maxAgeMs <= minAgeMs)
    throw bad('image-maximum-gc-age', 'must be longer than --minimum-image-ttl-duration');
  return {
    images: { highPercent, lowPercent, minAgeMs, maxAgeMs },
    containers: {
      minAgeMs: flags['minimum-container-ttl-duration'],
      perContainer: flags['maximum-dead-containers-per-container'],
      total: flags['maximum-dead-containers'],
    },
  };
}

const bad = (flag: string, message: string): OperatorError =>
  new OperatorError({
    code: 'BadSetting',
    message: `--${flag}: ${message}`,
    nextStep:
      'Write for example --image-gc-high-threshold=85 --image-gc-low-threshold=80 --minimum-image-ttl-duration=2m.',
    exitCode: 2,
  });

/** The defaults of all flags. */
export const DEFAULT_GARBAGE_POLICY: GarbagePolicy = {
  images: { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 },
  containers: { minAgeMs: 0, perContainer: 1, total: -1 },
};
