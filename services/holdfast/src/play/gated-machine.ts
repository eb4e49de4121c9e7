import type { Bus, BusMessage } from '@holdfast/bus';
import { type Clock, sleepOn, type Timer } from '@holdfast/platform';
import type { Life } from './gate.ts';
import { HELD_MESSAGES_MAX } from './limits.ts';

/** Timers of a stopped process fire when it continues. Time itself goes on. */
export function gatedClock(clock: Clock, { gate, over }: Life): Clock {
  const timer = (delayMs: number, fire: () => void): Timer => {
    let isCancelled = false;
    const fireOnce = (): void => {
      if (!isCancelled) fire();
    };
    // What is left of a killed component has to end.
    const pending = clock.timer(delayMs, () => (over.aborted ? fireOnce() : gate.pass(fireOnce)));
    return {
      cancel: () => {
        isCancelled = true;
        pending.cancel();
      },
    };
  };
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    timer,
    sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
  };
}

/** What one component hears of the bus. A bus may lose messages: its consumers ask the API when it does. */
export function gatedBus(bus: Bus, { gate, over }: Life): Bus {
  let held = 0;
  const hear = (message: BusMessage, onMessage: (message: BusMessage) => void): void => {
    if (over.aborted || gate.has('bus')) return;
    if (!gate.has('held')) return onMessage(message);
    if (held >= HELD_MESSAGES_MAX) return;
    held += 1;
    gate.pass(() => {
      held -= 1;
      if (!over.aborted) onMessage(message);
    });
  };
  return {
    publish: (messages) => (over.aborted || gate.has('bus') ? Promise.resolve() : bus.publish(messages)),
    subscribe: async (patterns, options) => {
      const subscription = await bus.subscribe(patterns, {
        ...options,
        onMessage: (message) => hear(message, options.onMessage),
      });
      // As after a new connection to a bus server: what was said meanwhile is read from the API.
      const forget = gate.onBus(() => gate.pass(() => options.onInterruption?.()));
      return {
        close: () => {
          forget();
          return subscription.close();
        },
      };
    },
    health: () => bus.health(),
    close: () => bus.close(),
  };
}
