export { type ApiServer, type ApiServerDeps, createApiServer, type ServiceAccountOptions } from './app.ts';
export type { AuditOptions } from './audit/auditor.ts';
export { parseTokenFile, type StaticTokens } from './authentication/static-tokens.ts';
export { COMPONENT_GRANTS, type ComponentGrants } from './authorization/component-grants.ts';
export { withRevision as spliceResourceVersion } from './cache/stored-json.ts';
export { FENCER, POD_GARBAGE_COLLECTOR, type User } from './identity.ts';
export type { NodeGateway } from './node-gateway.ts';
export type { ObjectReader } from './reader.ts';
