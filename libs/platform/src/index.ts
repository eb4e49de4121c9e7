export { environmentWith } from './child-environment.ts';
export { type Clock, createSystemClock, sleepOn, type Timer } from './clock.ts';
export { BinaryHeap } from './collections/binary-heap.ts';
export { DelayHeap } from './collections/delay-heap.ts';
export { Fifo } from './collections/fifo.ts';
export { RecentMap } from './collections/recent-map.ts';
export { RevisionRing, type RevisionRingOptions } from './collections/revision-ring.ts';
export { parseDuration } from './durations.ts';
export { describeError, OperatorError } from './errors.ts';
export { nextTurn } from './event-loop.ts';
export { readFeatureGates } from './feature-gates.ts';
export { createIds, type Ids } from './ids.ts';
export { InFlight } from './in-flight.ts';
export { InvariantViolation, invariant, unreachable } from './invariant.ts';
export { opened, Running, type RunningTools, type Service, startAll, stopInReverse } from './lifecycle.ts';
export { createSilentLog, LOG_LEVEL_SETTING, LOG_LEVELS, type Log, type LogFields, type LogLevel } from './log.ts';
export { type Counter, type Histogram, labelText, MetricRegistry } from './metrics.ts';
export { createSeededRandom, createSystemRandom, type Random } from './random.ts';
export { secureBytes } from './secure-bytes.ts';
export { dateOf, formatMicroTime, formatTime, parseHttpDate, parseTime } from './time.ts';
export {
  NO_TRACER,
  openTracing,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  TRACING_SETTING,
  type Tracer,
  type Tracing,
} from './tracer.ts';
