/** Traces as a dependency: which component called which, and how long it took. */
export interface Tracer {
  /** Runs the work as one span, a child of the current span. Records what it throws and rethrows it. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Returns the W3C `traceparent` of the current span for another process; `undefined` without a span. */
  traceparent(): string | undefined;
  /** Runs the work as what this span of another process caused; without one as caused by nothing. */
  within<T>(traceparent: string | undefined, work: () => T): T;
}

export interface SpanOptions {
  readonly kind: 'server' | 'internal';
  readonly attributes?: SpanAttributes;
  /**
   * Starts a new trace, unless there are causes. Work that a timer or a queue starts is not part of the work that set
   * the timer.
   */
  readonly root?: boolean;
  /** The remote parent span. */
  readonly traceparent?: string | undefined;
  /** The spans that caused queued work: the first one becomes the parent, the others are links. */
  readonly causes?: readonly string[];
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** Adds attributes that are known only now. */
  set(attributes: SpanAttributes): void;
}

const NO_SPAN: Span = { set: () => {} };

/** A tracer that records nothing. */
export const NO_TRACER: Tracer = {
  span: (_name, _options, work) => work(NO_SPAN),
  traceparent: () => undefined,
  within: (_traceparent, work) => work(),
};

/** A tracer with a connection to its receiver. */
export interface Tracing {
  /** Absent when tracing is off. Then the tracing library is not loaded. */
  readonly tracer?: Tracer;
  /** Sends the remaining spans. */
  stop(): Promise<void>;
}

/** `endpoint` is the base address of an OTLP/HTTP receiver; without it nothing is traced. */
export async function openTracing(service: string, endpoint: string | undefined): Promise<Tracing> {
  const receiver = endpoint ?? process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (receiver === undefined || receiver === '') return { stop: async () => {} };
  const { createOtelTracing } = await import('./otel-tracing.ts');
  return createOtelTracing(service, receiver);
}

/** The tracing setting of every program. */
export const TRACING_SETTING = {
  kind: 'string',
  help: 'OTLP/HTTP receiver of traces, http://host:4318; default: OTEL_EXPORTER_OTLP_ENDPOINT, or no traces',
} as const;
