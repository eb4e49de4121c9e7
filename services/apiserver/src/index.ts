export { type ApiServer, type ApiServerDeps, createApiServer, type ServiceAccountOptions } from './app.ts';
export type { AuditOptions } from './audit/auditor.ts';
export { FENCER, POD_GARBAGE_COLLECTOR, type User } from './authentication/identity.ts';
export { parseTokenFile, type StaticTokens } from './authentication/static-tokens.ts';
export { COMPONENT_GRANTS, type ComponentGrants } from './authorization/component-grants.ts';
export type { ObjectReader } from './cache/reader.ts';
export { withRevision as spliceResourceVersion } from './cache/stored-json.ts';
export { createDirectNodes, type DirectNodes } from './proxy/direct-nodes.ts';
export type { NodeGateway } from './proxy/node-gateway.ts';
