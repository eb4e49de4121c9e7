import type { Tracer } from '@holdfast/platform';
import type { Bus } from './port.ts';

/** Wraps a bus: what a handler does is caused by the span that wrote the change. */
export function traceDelivery(bus: Bus, tracer: Tracer): Bus {
  const { changesAtOnce, publishNow, retained, notes } = bus;
  return {
    publish: (messages) => bus.publish(messages),
    ...(bus.losesNothing === undefined ? {} : { losesNothing: bus.losesNothing }),
    ...(changesAtOnce === undefined ? {} : { changesAtOnce }),
    ...(publishNow === undefined ? {} : { publishNow: (messages) => publishNow.call(bus, messages) }),
    ...(retained === undefined ? {} : { retained }),
    ...(notes === undefined ? {} : { notes }),
    subscribe: (patterns, options) =>
      bus.subscribe(patterns, {
        ...options,
        onMessage: (message) => tracer.within(message.trace, () => options.onMessage(message)),
      }),
    health: () => bus.health(),
    close: () => bus.close(),
  };
}
