export { createLocalBus, type LocalBusOptions } from './local-bus.ts';
