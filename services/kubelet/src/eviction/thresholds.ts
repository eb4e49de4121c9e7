import { parseQuantity, QuantityError, value } from '@holdfast/machinery';
import { OperatorError, parseDuration } from '@holdfast/platform';
import { isSignal, type Signal } from './signals.ts';

export interface Threshold {
  readonly signal: Signal;
  readonly limit: Limit;
  /** 0: hard, without delay. */
  readonly graceMs: number;
  /** Distinguishes a hard threshold from a soft one without grace. */
  readonly kind: 'hard' | 'soft';
  /** More than the limit has to be free again before the pressure counts as gone. */
  readonly minimumReclaim: Limit | undefined;
}

/** A fraction of the capacity, or bytes, inodes or processes; `text` is the printed form. */
export type Limit =
  | { readonly kind: 'share'; readonly share: number }
  | { readonly kind: 'amount'; readonly amount: number; readonly text: string };

export interface EvictionConfig {
  readonly thresholds: readonly Threshold[];
  /** The grace of soft evictions; 0: the pod's own. */
  readonly maxPodGraceSeconds: number;
  /** A condition stays for this long after it was last observed. */
  readonly transitionMs: number;
}

/** The texts of the flags, in their own form: `signal<limit` and `signal=value`, separated by commas. */
export interface EvictionFlags {
  readonly hard: string;
  readonly soft: string;
  readonly softGracePeriod: string;
  readonly minimumReclaim: string;
  readonly maxPodGracePeriod: number;
  readonly pressureTransitionMs: number;
}

/** Kubernetes' defaults. */
export const DEFAULT_EVICTION_FLAGS: EvictionFlags = {
  hard: 'memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%',
  soft: '',
  softGracePeriod: '',
  minimumReclaim: '',
  maxPodGracePeriod: 0,
  pressureTransitionMs: 300_000,
};

/** Throws an `OperatorError` that names the flag. */
export function readEvictionConfig(flags: EvictionFlags): EvictionConfig {
  const graces = readPairs('eviction-soft-grace-period', flags.softGracePeriod, '=');
  const reclaim = readPairs('eviction-minimum-reclaim', flags.minimumReclaim, '=');
  const common = (signal: Signal): Pick<Threshold, 'signal' | 'minimumReclaim'> => {
    const text = reclaim.get(signal);
    return { signal, minimumReclaim: text === undefined ? undefined : readLimit('eviction-minimum-reclaim', text) };
  };
  const hard = [...readPairs('eviction-hard', flags.hard, '<')].map(
    ([signal, text]): Threshold => ({
      ...common(signal),
      kind: 'hard',
      graceMs: 0,
      limit: readLimit('eviction-hard', text),
    }),
  );
  const soft = [...readPairs('eviction-soft', flags.soft, '<')].map(([signal, text]): Threshold => {
    const grace = graces.get(signal);
    if (grace === undefined) throw bad('eviction-soft', `grace period must be specified for ${signal}`);
    const graceMs = parseDuration(grace);
    if (graceMs === undefined) throw bad('eviction-soft-grace-period', `${grace} is not a duration`);
    return { ...common(signal), kind: 'soft', graceMs, limit: readLimit('eviction-soft', text) };
  });
  const thresholds = withAllocatable([...hard, ...soft].filter(({ limit }) => !isOff(limit)));
  return { thresholds, maxPodGraceSeconds: flags.maxPodGracePeriod, transitionMs: flags.pressureTransitionMs };
}

/** The memory of all pods has its limit where the hard threshold of the whole memory is. */
function withAllocatable(thresholds: readonly Threshold[]): readonly Threshold[] {
  const own = thresholds.some(({ signal }) => signal === 'allocatableMemory.available');
  const memory = thresholds.find(({ signal, kind }) => signal === 'memory.available' && kind === 'hard');
  if (own || memory === undefined) return thresholds;
  return [...thresholds, { ...memory, signal: 'allocatableMemory.available' }];
}

/** As in Kubernetes, 0 % and 100 % disable a threshold. */
const isOff = (limit: Limit): boolean => limit.kind === 'share' && (limit.share <= 0 || limit.share >= 1);

function readPairs(flag: string, text: string, separator: '<' | '='): ReadonlyMap<Signal, string> {
  const found = new Map<Signal, string>();
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [name = '', limit, ...more] = part.split(separator).map((each) => each.trim());
    if (limit === undefined || limit === '' || more.length > 0)
      throw bad(flag, `"${part}" is not written as signal${separator}value`);
    if (!isSignal(name)) throw bad(flag, `unsupported eviction signal ${name}`);
    if (found.has(name)) throw bad(flag, `duplicate eviction threshold specified for ${name}`);
    found.set(name, limit);
  }
  return found;
}

function readLimit(flag: string, text: string): Limit {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (percent !== undefined) {
    const share = Number(percent) / 100;
    if (share <= 1) return { kind: 'share', share };
    throw bad(flag, `${text} must not be more than 100%`);
  }
  try {
    const amount = value(parseQuantity(text));
    if (amount < 0) throw bad(flag, `${text} must not be negative`);
    return { kind: 'amount', amount, text };
  } catch (error) {
    if (error instanceof QuantityError) throw bad(flag, `${text} is neither a quantity nor a percentage`);
    throw error;
  }
}

const bad = (flag: string, message: string): OperatorError =>
  new OperatorError({
    code: 'BadSetting',
    message: `--${flag}: ${message}`,
    nextStep: 'Write for example --eviction-hard=memory.available<100Mi,nodefs.available<10%.',
    exitCode: 2,
  });

export function limitOf(limit: Limit, capacity: number): number {
  return limit.kind === 'share' ? Math.floor(capacity * limit.share) : limit.amount;
}

/** Returns what the node must not offer to pods, because it would evict them before. */
export function reservedFor(config: EvictionConfig, signal: Signal, capacity: number): number {
  const threshold = config.thresholds.find((each) => each.signal === signal && each.kind === 'hard');
  return threshold === undefined ? 0 : limitOf(threshold.limit, capacity);
}
