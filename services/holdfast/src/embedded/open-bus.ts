import { type Bus, traceDelivery } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { OperatorError } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import type { StartConfig } from '../config.ts';
import type { Machine } from './machine.ts';

const CONNECT_DEADLINE_MS = 5_000;
const LOOK_AGAIN_MS = 50;

/** Returns the in-process bus, or a connection to a NATS server that responds. */
export async function openBus(config: StartConfig, machine: Machine, store: Pick<Store, 'lineage'>): Promise<Bus> {
  const bus = await openPlainBus(config, machine, store);
  return machine.tracer === undefined ? bus : traceDelivery(bus, machine.tracer);
}

async function openPlainBus(config: StartConfig, machine: Machine, store: Pick<Store, 'lineage'>): Promise<Bus> {
  if (config.bus === undefined) return createLocalBus();
  const { createNatsBus } = await import('@holdfast/bus/nats');
  const { publisherOptions } = await import('@holdfast/apiserver');
  const { server, user, password } = config.bus;
  const access = { servers: [server], user, tls: config.busTls };
  const bus = createNatsBus({ ...publisherOptions(access, { store, password }), ...machine });
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
