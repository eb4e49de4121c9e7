import type { PriorityLevelConfiguration } from '@holdfast/api';

/** Seats of a priority level on this server. */
export interface LevelLimits {
  /** Its share of all. */
  readonly nominal: number;
  /** The seats left after maximum lending. */
  readonly lower: number;
  /** Its maximum including borrowed seats. */
  readonly upper: number;
}

type Configured = Pick<PriorityLevelConfiguration, 'spec'>;

export const sharesOf = ({ spec }: Configured): number =>
  spec.limited?.nominalConcurrencyShares ?? spec.exempt?.nominalConcurrencyShares ?? 0;

/** Divides the seats of the server by shares. They are rounded up, so their sum may be a little more. */
export function limitsOf(level: Configured, server: { readonly seats: number; readonly shares: number }): LevelLimits {
  const { limited, exempt } = level.spec;
  const nominal = server.shares === 0 ? 0 : Math.ceil((server.seats * sharesOf(level)) / server.shares);
  const lendable = Math.round((nominal * (limited?.lendablePercent ?? exempt?.lendablePercent ?? 0)) / 100);
  const percent = limited?.borrowingLimitPercent;
  const borrowable = percent === undefined ? server.seats : Math.round((nominal * percent) / 100);
  return { nominal, lower: nominal - lendable, upper: nominal + borrowable };
}

const SEATS_PERCENT = 0.15;

/** The maximum width of a request of a level. */
export const seatsMaxOf = (nominal: number, handSize: number): number =>
  Math.max(1, Math.min(Math.ceil(nominal * SEATS_PERCENT), Math.floor(nominal / Math.max(1, handSize))));
