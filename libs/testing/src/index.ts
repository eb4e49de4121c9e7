export { AtMostOneOracle, type ProcessFact } from './sim/at-most-one.ts';
export { BUS_PARTY, type ChannelWay, createSimulatedBus } from './sim/bus.ts';
export { type ClockError, type SimulatedMachine, SimulatedProcess } from './sim/component.ts';
export { type Oracle, SIMULATION_EPOCH_MS, SimulationFailure, SimulationKernel } from './sim/kernel.ts';
export { type LinkQuality, SimulatedNetwork } from './sim/network.ts';
export { createSimulatedTransport, type SimulatedTransportOptions } from './sim/transport.ts';
export { unlessRoot } from './unless-root.ts';
