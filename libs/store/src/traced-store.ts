import type { Tracer } from '@holdfast/platform';
import type { Store, WriteOperation } from './port.ts';
import { writingBy } from './writing-by.ts';

/**
 * Wraps a store; every write is a span, and the span is the id of the write. So the feed of changes tells what caused a
 * change, also to another process.
 */
export function traceWrites(store: Store, tracer: Tracer): Store {
  return writingBy(store, (operations, options) => {
    const around = tracer.traceparent();
    return tracer.span('store.write', { kind: 'internal', attributes: describe(operations) }, async (span) => {
      const writeId = options?.writeId ?? ownId(tracer.traceparent(), around);
      const result = await store.write(operations, { ...options, ...(writeId === undefined ? {} : { writeId }) });
      span.set({ 'holdfast.store.outcome': result.outcome });
      return result;
    });
  });
}

/**
 * A library that exports nothing makes no spans: the current one is then that of the client. Two writes with one id would
 * count as one, and the second would be acknowledged without being stored.
 */
const ownId = (span: string | undefined, around: string | undefined): string | undefined =>
  span === around ? undefined : span;

const describe = (operations: readonly WriteOperation[]) => ({
  'holdfast.store.operations': operations.length,
  'holdfast.store.key': operations[0]?.key ?? '',
});
