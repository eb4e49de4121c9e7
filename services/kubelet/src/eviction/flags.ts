import type { Taint } from '@holdfast/api';
import { parseQuantity, QuantityError } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';
import { DEFAULT_EVICTION_FLAGS as DEFAULTS, type EvictionFlags } from './thresholds.ts';

/** Reservations of a node and its eviction thresholds. */
export const PRESSURE_SETTINGS = {
  'register-with-taints': { kind: 'string', help: 'taints of a new node: key=value:Effect, separated by commas' },
  'system-reserved': { kind: 'string', help: 'resources reserved for the machine: cpu=200m,memory=500Mi', default: '' },
  'kube-reserved': {
    kind: 'string',
    help: 'resources reserved for cluster agents: cpu=100m,memory=200Mi',
    default: '',
  },
  'shutdown-grace-period': {
    kind: 'duration',
    help: 'grace period of all pods when this kubelet shuts down; 0 = they keep running',
    default: '0',
  },
  'shutdown-grace-period-critical-pods': {
    kind: 'duration',
    help: 'part of that time reserved for critical pods, which end last',
    default: '0',
  },
  'shutdown-grace-period-by-pod-priority': {
    kind: 'string',
    help: 'replaces both: priority=seconds, separated by commas',
    default: '',
  },
  'eviction-hard': {
    kind: 'string',
    help: 'thresholds below which pods are evicted immediately; 0% = disabled',
    default: DEFAULTS.hard,
  },
  'eviction-soft': {
    kind: 'string',
    help: 'thresholds below which pods are evicted after a grace period',
    default: DEFAULTS.soft,
  },
  'eviction-soft-grace-period': {
    kind: 'string',
    help: 'grace periods of these thresholds: memory.available=1m30s',
    default: DEFAULTS.softGracePeriod,
  },
  'eviction-minimum-reclaim': {
    kind: 'string',
    help: 'minimum amount to free beyond the threshold: nodefs.available=1Gi',
    default: DEFAULTS.minimumReclaim,
  },
  'eviction-max-pod-grace-period': {
    kind: 'integer',
    help: "maximum grace period in seconds of pods evicted by a soft threshold; 0 = the pod's own",
    default: DEFAULTS.maxPodGracePeriod,
    min: 0,
  },
  'eviction-pressure-transition-period': {
    kind: 'duration',
    help: 'how long a pressure condition stays after its last observation',
    default: `${DEFAULTS.pressureTransitionMs / 1000}s`,
  },
} as const;

interface PressureTexts {
  readonly 'eviction-hard': string;
  readonly 'eviction-soft': string;
  readonly 'eviction-soft-grace-period': string;
  readonly 'eviction-minimum-reclaim': string;
  readonly 'eviction-max-pod-grace-period': number;
  readonly 'eviction-pressure-transition-period': number;
}

export const evictionFlags = (settings: PressureTexts): EvictionFlags => ({
  hard: settings['eviction-hard'],
  soft: settings['eviction-soft'],
  softGracePeriod: settings['eviction-soft-grace-period'],
  minimumReclaim: settings['eviction-minimum-reclaim'],
  maxPodGracePeriod: settings['eviction-max-pod-grace-period'],
  pressureTransitionMs: settings['eviction-pressure-transition-period'],
});

export function readAmounts(flag: string, text: string): Readonly<Record<string, string>> {
  const parts = text.split(',').filter((each) => each.trim() !== '');
  const pairs = parts.map((part) => {
    const [name = '', amount = ''] = part.trim().split('=', 2);
    if (!isQuantity(amount)) throw bad(flag, part, 'cpu=100m,memory=200Mi');
    return [name, amount] as const;
  });
  return Object.fromEntries(pairs);
}

function isQuantity(text: string): boolean {
  try {
    return parseQuantity(text).nano >= 0n;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

const EFFECTS: ReadonlySet<string> = new Set(['NoSchedule', 'PreferNoSchedule', 'NoExecute']);

export function readTaints(text: string): readonly Taint[] {
  return text
    .split(',')
    .filter((each) => each.trim() !== '')
    .map((part) => {
      const [, key = '', value = '', effect = ''] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(part.trim()) ?? [];
      if (!EFFECTS.has(effect)) throw bad('register-with-taints', part, 'dedicated=gpu:NoSchedule');
      return { key, effect, ...(value === '' ? {} : { value }) };
    });
}

const bad = (flag: string, part: string, example: string): OperatorError =>
  new OperatorError({
    code: 'BadSetting',
    message: `--${flag} cannot be read at "${part}"`,
    nextStep: `Write for example --${flag}=${example}.`,
    exitCode: 2,
  });
