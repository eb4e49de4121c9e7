import { Duration, EvaluationError, NANOS_PER_SECOND, Timestamp } from '../values.ts';

const MAX_INT = (1n << 63n) - 1n;
const MIN_INT = -(1n << 63n);
const MAX_UINT = (1n << 64n) - 1n;
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z. */
const MIN_TIMESTAMP = -62_135_596_800n * NANOS_PER_SECOND;
const MAX_TIMESTAMP = 253_402_300_800n * NANOS_PER_SECOND - 1n;

export function checkedInt(value: bigint): bigint {
  if (value > MAX_INT || value < MIN_INT) throw new EvaluationError('integer overflow');
  return value;
}

export function checkedUint(value: bigint): bigint {
  if (value > MAX_UINT || value < 0n) throw new EvaluationError('unsigned integer overflow');
  return value;
}

export function checkedTimestamp(nanos: bigint): Timestamp {
  if (nanos > MAX_TIMESTAMP || nanos < MIN_TIMESTAMP) throw new EvaluationError('timestamp overflow');
  return new Timestamp(nanos);
}

/** Limits durations as Go does: nanoseconds in 64 bits. */
export function checkedDuration(nanos: bigint): Duration {
  if (nanos > MAX_INT || nanos < MIN_INT) throw new EvaluationError('duration overflow');
  return new Duration(nanos);
}
