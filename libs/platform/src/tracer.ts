/** Traces as a dependency: who called whom, and how long it took. */
export interface Tracer {
  /** Runs the work as one span, a part of the span that runs already. What it throws is noted and thrown on. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Tells another process of the running span (W3C `traceparent`); `undefined` when none runs. */
  traceparent(): string | undefined;
}

export interface SpanOptions {
  readonly kind: 'server' | 'internal';
  readonly attributes?: SpanAttributes;
  /** A beginning of its own: work that only a timer or a queue has woken is no part of what set the timer. */
  readonly root?: boolean;
  /** The span of another process that asked for this one. */
  readonly traceparent?: string | undefined;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** Adds what is known only now. */
  set(attributes: SpanAttributes): void;
}

const NO_SPAN: Span = { set: () => {} };

/** Traces nothing. */
export const NO_TRACER: Tracer = {
  span: (_name, _options, work) => work(NO_SPAN),
  traceparent: () => undefined,
};

/** A tracer with a connection to where its spans go. */
export interface Tracing {
  /** Absent when nobody wants traces: then nothing of the tracing library is loaded. */
  readonly tracer?: Tracer;
  /** Sends what is not sent yet. */
  stop(): Promise<void>;
}

/** `endpoint` is the base address of an OTLP/HTTP receiver; without it nothing is traced. */
export async function openTracing(service: string, endpoint: string | undefined): Promise<Tracing> {
  const receiver = endpoint ?? process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (receiver === undefined || receiver === '') return { stop: async () => {} };
  const { createOtelTracing } = await import('./otel-tracing.ts');
  return createOtelTracing(service, receiver);
}

/** The setting of every program that traces. */
export const TRACING_SETTING = {
  kind: 'string',
  help: 'OTLP/HTTP receiver of traces, http://host:4318; default: OTEL_EXPORTER_OTLP_ENDPOINT, or no traces',
} as const;
