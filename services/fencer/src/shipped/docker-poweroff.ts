import { isJsonObject, type JsonObject, parseJson } from '@holdfast/machinery';
import { nodeHttp } from '@holdfast/platform/http';
import type { FenceState } from '../agents/port.ts';

const SOCKET = '/var/run/docker.sock';
/** `%n` is the name of the node. Compose uses this name. */
const CONTAINER = 'holdfast-%n-1';
const NOT_MODIFIED = 304;
const OK_BELOW = 300;

/**
 * Stops the container of a node with all its processes, and starts it again. The container's state is the agent's
 * memory.
 */
export async function answerFor(question: string): Promise<string> {
  const asked = parseJson(question).value;
  if (!isJsonObject(asked)) throw new Error('the request is not a JSON object');
  const { action, requestId = '' } = asked;
  const node = textIn(asked['node'], 'name', '');
  const socket = textIn(asked['parameters'], 'socket', SOCKET);
  const name = encodeURIComponent(textIn(asked['parameters'], 'container', CONTAINER).replaceAll('%n', node));
  // No grace period: a machine that loses its power has none either. A restart policy does not start a container that
  // was stopped in this way.
  if (action === 'fence') await call(socket, 'POST', `/containers/${name}/stop?t=0`);
  if (action === 'unfence') await call(socket, 'POST', `/containers/${name}/start`);
  const state = stateIn(await call(socket, 'GET', `/containers/${name}/json`));
  return JSON.stringify({ state, requestId, message: `container ${decodeURIComponent(name)}` });
}

function textIn(object: unknown, key: string, fallback: string): string {
  const value: unknown = typeof object === 'object' && object !== null ? Reflect.get(object, key) : undefined;
  return typeof value === 'string' ? value : fallback;
}

function stateIn(container: JsonObject): FenceState {
  const state = container['State'];
  const isRunning = isJsonObject(state) ? state['Running'] : undefined;
  if (typeof isRunning !== 'boolean') throw new Error('the daemon did not report whether the container runs');
  return isRunning ? 'unfenced' : 'fenced';
}

async function call(socketPath: string, method: 'GET' | 'POST', path: string): Promise<JsonObject> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
  const sent = nodeHttp().request({ socketPath, method, path, headers: { host: 'docker' } }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', reject);
    response.once('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const status = response.statusCode ?? 0;
      if (status >= OK_BELOW && status !== NOT_MODIFIED)
        reject(new Error(`${method} ${path} was answered with ${status}: ${text.trim()}`));
      else resolve(method === 'GET' ? objectOf(text) : {});
    });
  });
  sent.on('error', reject);
  sent.end();
  return promise;
}

function objectOf(text: string): JsonObject {
  const { value } = parseJson(text);
  if (!isJsonObject(value)) throw new Error('the daemon did not answer with a JSON object');
  return value;
}
