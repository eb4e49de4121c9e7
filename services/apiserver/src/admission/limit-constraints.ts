import type { LimitRangeItem } from '@holdfast/api';
import { compareQuantities, parseQuantity } from '@holdfast/machinery';

export type Amounts = Readonly<Record<string, string>>;

/** Returns the objections of a limit range item to these requests and limits, by name. */
export function bounded(item: LimitRangeItem, requests: Amounts, limits: Amounts): readonly string[] {
  const about = (name: string, value: string): Constraint => ({
    name,
    type: item.type ?? '',
    value,
    request: requests[name],
    limit: limits[name],
  });
  return [
    ...byName(item.min).map(([name, value]) => belowMinimum(about(name, value))),
    ...byName(item.max).map(([name, value]) => aboveMaximum(about(name, value))),
    ...byName(item.maxLimitRequestRatio).map(([name, value]) => aboveRatio(about(name, value))),
  ].filter((problem) => problem !== undefined);
}

/** The same where there are only requests: claims. */
export function requestBounded(item: LimitRangeItem, requests: Amounts): readonly string[] {
  const about = (name: string, value: string): Constraint => ({
    name,
    type: item.type ?? '',
    value,
    request: requests[name],
    limit: undefined,
  });
  return [
    ...byName(item.min).map(([name, value]) => belowMinimum(about(name, value))),
    ...byName(item.max).map(([name, value]) => requestAboveMaximum(about(name, value))),
  ].filter((problem) => problem !== undefined);
}

const byName = (amounts: Amounts | undefined): readonly [string, string][] =>
  Object.entries(amounts ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));

interface Constraint {
  readonly name: string;
  readonly type: string;
  readonly value: string;
  readonly request: string | undefined;
  readonly limit: string | undefined;
}

function belowMinimum({ name, type, value, request, limit }: Constraint): string | undefined {
  const head = `minimum ${name} usage per ${type} is ${value}`;
  if (request === undefined) return `${head}.  No request is specified`;
  if (isLess(request, value)) return `${head}, but request is ${request}`;
  return limit !== undefined && isLess(limit, value) ? `${head}, but limit is ${limit}` : undefined;
}

function aboveMaximum({ name, type, value, request, limit }: Constraint): string | undefined {
  const head = `maximum ${name} usage per ${type} is ${value}`;
  if (limit === undefined) return `${head}.  No limit is specified`;
  if (isLess(value, limit)) return `${head}, but limit is ${limit}`;
  return request !== undefined && isLess(value, request) ? `${head}, but request is ${request}` : undefined;
}

function requestAboveMaximum({ name, type, value, request }: Constraint): string | undefined {
  const head = `maximum ${name} usage per ${type} is ${value}`;
  if (request === undefined) return `${head}.  No request is specified`;
  return isLess(value, request) ? `${head}, but request is ${request}` : undefined;
}

function aboveRatio({ name, type, value, request, limit }: Constraint): string | undefined {
  const head = `${name} max limit to request ratio per ${type} is ${value}`;
  if (request === undefined || isZero(request)) return `${head}, but no request is specified or request is 0`;
  if (limit === undefined || isZero(limit)) return `${head}, but no limit is specified or limit is 0`;
  const ratio = Number(parseQuantity(limit).nano) / Number(parseQuantity(request).nano);
  const allowed = Number(parseQuantity(value).nano) / NANO;
  return ratio > allowed ? `${head}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}

const NANO = 1e9;

const isZero = (amount: string): boolean => parseQuantity(amount).nano === 0n;

const isLess = (a: string, b: string): boolean => compareQuantities(parseQuantity(a), parseQuantity(b)) < 0;
