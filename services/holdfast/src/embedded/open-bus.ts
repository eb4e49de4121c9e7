import { type Bus, traceDelivery } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { OperatorError } from '@holdfast/platform';
import type { StartConfig } from '../config.ts';
import type { Machine } from './machine.ts';

const CONNECT_DEADLINE_MS = 5_000;
const LOOK_AGAIN_MS = 50;

/** Returns the in-process bus, or a connection to a NATS server that responds. */
export async function openBus(config: StartConfig, machine: Machine): Promise<Bus> {
  const bus = await openPlainBus(config, machine);
  return machine.tracer === undefined ? bus : traceDelivery(bus, machine.tracer);
}

async function openPlainBus(config: StartConfig, machine: Machine): Promise<Bus> {
  if (config.bus === undefined) return createLocalBus();
  const { createNatsBus } = await import('@holdfast/bus/nats');
  const tls = config.busTls === undefined ? {} : { tls: config.busTls };
  const { server, ...credentials } = config.bus;
  const bus = createNatsBus({ servers: [server], ...credentials, role: 'publisher', ...tls, ...machine });
  const giveUpAt = machine.clock.monotonic() + CONNECT_DEADLINE_MS;
  while (bus.health().length > 0) {
    if (machine.clock.monotonic() > giveUpAt) {
      const why = bus.health().join('; ');
      await bus.close();
      throw new OperatorError({
        code: 'BUS_UNREACHABLE',
        message: `the event bus at ${server} cannot be reached: ${why}`,
        nextStep: 'Start nats-server with JetStream (nats-server -js), check its address and user, or leave --bus out.',
      });
    }
    await machine.clock.sleep(LOOK_AGAIN_MS);
  }
  return bus;
}
