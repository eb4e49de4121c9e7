import { text } from 'node:stream/consumers';
import { type IsolationRequest, writeIsolationScript } from './isolation-script.ts';
import { isDirectory } from './spawn-paths.ts';

/** What the supervisor has a process of its own look at: a file system whose server is silent holds that process alone. */
export type ViewOrder =
  | { readonly kind: 'script'; readonly directory: string; readonly request: IsolationRequest }
  | { readonly kind: 'isDirectory'; readonly path: string };

export type ViewAnswer = { readonly result: string | boolean } | { readonly failure: string };

function carryOut(order: ViewOrder): ViewAnswer {
  try {
    if (order.kind === 'isDirectory') return { result: isDirectory(order.path) };
    return { result: writeIsolationScript(order.directory, order.request) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

// The same files as those of the supervisor, whose mask this process has.
const order = JSON.parse(await text(process.stdin)) as ViewOrder;
process.stdout.write(JSON.stringify(carryOut(order)));
