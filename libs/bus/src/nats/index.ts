export { createNatsBus, type NatsBusOptions } from './nats-bus.ts';
export {
  type NatsRole,
  type NatsServerConfig,
  type NatsUser,
  natsServerConfig,
  natsUserName,
} from './server-config.ts';
