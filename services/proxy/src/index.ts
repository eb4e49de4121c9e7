export { createProxy, type Proxy } from './app.ts';
export { MemoryFilter } from './filter/memory-filter.ts';
export { createNftFilter, type NftFilterOptions } from './filter/nft-filter.ts';
export type { FlowTable, PacketFilter, StaleFlows } from './filter/port.ts';
export { DEFAULT_PROXY_OPTIONS, type ProxyDeps, type ProxyOptions, type RelayedServer } from './proxy-deps.ts';
