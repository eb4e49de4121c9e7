import { RecentMap } from '@holdfast/platform';
import { EVENT_BURST, EVENT_CACHE_MAX, EVENT_REFILL_MS } from './limits.ts';

interface Budget {
  tokens: number;
  refilledAtMs: number;
}

/** Spends from the event budget of an object. Returns false when the object exceeds it. */
export type SpendEvent = (about: string, nowMs: number) => boolean;

export function createEventBudgets(): SpendEvent {
  const budgets = new RecentMap<string, Budget>(EVENT_CACHE_MAX);
  return (about, nowMs) => {
    const budget = budgets.get(about) ?? { tokens: EVENT_BURST, refilledAtMs: nowMs };
    budgets.set(about, budget);
    budget.tokens = Math.min(EVENT_BURST, budget.tokens + (nowMs - budget.refilledAtMs) / EVENT_REFILL_MS);
    budget.refilledAtMs = nowMs;
    if (budget.tokens < 1) return false;
    budget.tokens -= 1;
    return true;
  };
}
