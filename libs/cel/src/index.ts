export type { Environment } from './environment.ts';
export { fromJson } from './json-value.ts';
export {
  type AccessAnswer,
  type AccessQuestion,
  AUTHORIZER,
  authorizerValue,
  RESOURCE_CHECK,
} from './library/authorizer.ts';
export { kubernetesEnvironment, standardEnvironment } from './library/index.ts';
export * from './limits.ts';
export { type Allowance, type Compiled, compileExpression, type Outcome, Program } from './program.ts';
export { createRuleEngine } from './rules/engine.ts';
export { escapeName } from './rules/names.ts';
export { typeOfSchema } from './rules/schema-type.ts';
export * from './types.ts';
export * from './values.ts';
