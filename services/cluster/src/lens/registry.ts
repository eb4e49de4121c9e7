import type { LensKind } from './kind.ts';
import { CONFLICT } from './kinds/conflict.ts';
import { CRASH, type CrashSettings } from './kinds/crash.ts';
import { EXPIRED } from './kinds/expired.ts';
import { LATENCY, type LatencySettings } from './kinds/latency.ts';
import { PAUSED, type PausedSettings } from './kinds/paused.ts';
import { STALE, type StaleSettings } from './kinds/stale.ts';
import { THROTTLED, type ThrottledSettings } from './kinds/throttled.ts';
import { TIME_TRAVEL, type TimeTravelSettings } from './kinds/time-travel.ts';
import { UNOBSERVED, type UnobservedSettings } from './kinds/unobserved.ts';
import { UNREACHABLE } from './kinds/unreachable.ts';
import { WATCH_CLOSED } from './kinds/watch-closed.ts';
import { WEBHOOK_DOWN, type WebhookDownSettings } from './kinds/webhook-down.ts';

/** The settings of each kind of lens. */
export interface LensSettings {
  readonly stale: StaleSettings;
  readonly timeTravel: TimeTravelSettings;
  readonly unobserved: UnobservedSettings;
  readonly crash: CrashSettings;
  readonly paused: PausedSettings;
  readonly conflict: object;
  readonly expired: object;
  readonly throttled: ThrottledSettings;
  readonly latency: LatencySettings;
  readonly watchClosed: object;
  readonly unreachable: object;
  readonly webhookDown: WebhookDownSettings;
}

export type LensKindName = keyof LensSettings;

export const LENS_KINDS: { readonly [K in LensKindName]: LensKind<LensSettings[K]> } = {
  stale: STALE,
  timeTravel: TIME_TRAVEL,
  unobserved: UNOBSERVED,
  crash: CRASH,
  paused: PAUSED,
  conflict: CONFLICT,
  expired: EXPIRED,
  throttled: THROTTLED,
  latency: LATENCY,
  watchClosed: WATCH_CLOSED,
  unreachable: UNREACHABLE,
  webhookDown: WEBHOOK_DOWN,
};
