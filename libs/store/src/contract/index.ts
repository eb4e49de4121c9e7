export { checkChain, checkHistory, type HistoryEvent } from './history-check.ts';
export { type StoreHistoryOptions, storeHistoryProperty } from './history-property.ts';
export { type CreateStore, type OpenStore, storeContract } from './store-contract.ts';
export { changesUpTo, copyUpTo, recount } from './support.ts';
