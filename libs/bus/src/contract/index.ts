export { type BusFixture, busContract, type CreateBusFixture } from './contract.ts';
export { collect, eventually, message, publishAll } from './helpers.ts';
