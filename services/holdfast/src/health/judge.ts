import { parseTime } from '@holdfast/platform/time';

/** A leader renews well within this; a standby that sees it renewed is as healthy as the leader. */
const LEASE_FRESH_MS = 30_000;

export function isReadyNode(node: unknown): boolean {
  const conditions = property(property(node, 'status'), 'conditions');
  if (!Array.isArray(conditions)) return false;
  return conditions.some((each) => property(each, 'type') === 'Ready' && property(each, 'status') === 'True');
}

export function isFreshLease(lease: unknown, nowMs: number): boolean {
  const renewed = property(property(lease, 'spec'), 'renewTime');
  const at = typeof renewed === 'string' ? parseTime(renewed) : undefined;
  return at !== undefined && nowMs - at < LEASE_FRESH_MS;
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
