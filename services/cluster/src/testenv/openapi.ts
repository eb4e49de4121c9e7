import { OPERATIONS, type Operation } from './operations.ts';
import { PROBLEM_SCHEMA } from './schemas.ts';

const OPENAPI_VERSION = '3.0.3';

/** Describes the control endpoint, from the table of its operations. */
export function openApiDocument(server: string): unknown {
  const paths = new Map<string, Record<string, unknown>>();
  for (const operation of OPERATIONS) {
    const item = paths.get(operation.path) ?? parametersOf(operation);
    paths.set(operation.path, { ...item, [operation.method.toLowerCase()]: describe(operation) });
  }
  return {
    openapi: OPENAPI_VERSION,
    info: {
      title: 'holdfast testenv',
      version: '1',
      description: 'Starts, forks and stops Kubernetes clusters for tests, and moves their time.',
    },
    servers: [{ url: server }],
    security: [{ bearer: [] }],
    paths: Object.fromEntries(paths),
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  };
}

function describe({ id, summary, body, status, answer }: Operation): unknown {
  return {
    operationId: id,
    summary: `${summary}.`,
    ...(body === undefined ? {} : { requestBody: { required: body.required !== undefined, content: json(body) } }),
    responses: {
      [status]: { description: 'Success.', ...(answer === undefined ? {} : { content: json(answer) }) },
      default: { description: 'What is wrong, and the next step.', content: json(PROBLEM_SCHEMA) },
    },
  };
}

const parametersOf = ({ path }: Operation): Record<string, unknown> =>
  path.includes('{id}') ? { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] } : {};

const json = (schema: unknown): unknown => ({ 'application/json': { schema } });
