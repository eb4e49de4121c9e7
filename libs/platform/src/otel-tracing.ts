import {
  type Context,
  context,
  type Link,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { describeError, OperatorError } from './errors.ts';
import type { SpanOptions, Tracer, Tracing } from './tracer.ts';

/** An unresponsive receiver must not keep the process from ending. */
const LAST_SPANS_MS = 5_000;

/** Starts the OpenTelemetry SDK, one per process. Its own variables (`OTEL_...`) set everything except the address. */
export function createOtelTracing(service: string, endpoint: string): Tracing & { readonly tracer: Tracer } {
  requireUrl(endpoint);
  // The SDK's exporter reads its address only from the environment.
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = endpoint;
  process.env['OTEL_TRACES_EXPORTER'] ??= 'otlp';
  process.env['OTEL_METRICS_EXPORTER'] ??= 'none';
  process.env['OTEL_LOGS_EXPORTER'] ??= 'none';
  const sdk = new NodeSDK({ serviceName: process.env['OTEL_SERVICE_NAME'] ?? service });
  sdk.start();
  return { tracer: createOtelTracer(service), stop: () => shutDown(sdk) };
}

function createOtelTracer(service: string): Tracer {
  const tracer = trace.getTracer(`holdfast-${service}`);
  return {
    span: (name, options, work) =>
      tracer.startActiveSpan(
        name,
        { kind: KINDS[options.kind], ...attributesOf(options), links: linksOf(options) },
        parentOf(options),
        async (span) => {
          try {
            return await work({ set: (attributes) => void span.setAttributes(attributes) });
          } catch (error) {
            span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error) });
            throw error;
          } finally {
            span.end();
          }
        },
      ),
    traceparent: () => {
      const carrier: Record<string, string> = {};
      propagation.inject(context.active(), carrier);
      return carrier['traceparent'];
    },
    within: (traceparent, work) => context.with(contextOf(traceparent), work),
  };
}

const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL } as const;

const attributesOf = ({ attributes }: SpanOptions) =>
  attributes === undefined ? {} : { attributes: { ...attributes } };

const contextOf = (traceparent: string | undefined): Context =>
  traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });

const linksOf = ({ causes = [] }: SpanOptions): Link[] =>
  causes.slice(1).flatMap((cause) => {
    const spanContext = trace.getSpanContext(contextOf(cause));
    return spanContext === undefined ? [] : [{ context: spanContext }];
  });

function parentOf({ root, traceparent, causes = [] }: SpanOptions): Context {
  if (causes.length > 0) return contextOf(causes[0]);
  if (root === true) return ROOT_CONTEXT;
  return traceparent === undefined ? context.active() : propagation.extract(context.active(), { traceparent });
}

function requireUrl(endpoint: string): void {
  if (/^https?:\/\//.test(endpoint) && URL.canParse(endpoint)) return;
  throw new OperatorError({
    code: 'BadSetting',
    message: `the receiver of traces is an address like http://host:4318, not "${endpoint}"`,
    nextStep: 'Correct --tracing-endpoint or OTEL_EXPORTER_OTLP_ENDPOINT, or leave both out.',
    exitCode: 2,
  });
}

async function shutDown(sdk: NodeSDK): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, LAST_SPANS_MS);
  // Spans that cannot be sent are lost; nothing else depends on them.
  await Promise.race([sdk.shutdown().catch(() => {}), late]);
  clearTimeout(timer);
}
