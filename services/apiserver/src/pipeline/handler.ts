import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import type { Auditor } from '../audit/auditor.ts';
import type { AuditTrail } from '../audit/trail.ts';
import { tokenWarning } from '../authentication/bearer-token.ts';
import { authenticate } from '../authentication/chain.ts';
import type { User } from '../authentication/identity.ts';
import { asAccepted } from '../http/accepted-type.ts';
import { errorAnswer } from '../http/answers.ts';
import { asRead } from '../http/indentation.ts';
import { Warnings } from '../http/warnings.ts';
import { answer, type Incoming, type Pipeline } from './pipeline.ts';

/** Authentication, then the pipeline. */
export function createHandler(pipeline: Pipeline): ApiHandler {
  const { core } = pipeline;
  return async (request) => {
    const warnings = beginWarnings(request);
    try {
      const found = authenticate(core.access.authenticators, request);
      const user = found instanceof Promise ? await found : found;
      return warnings.attach(asRead(request, await served(pipeline, { request, user, warnings })));
    } catch (error) {
      return warnings.attach(asRead(request, await refused(pipeline, request, error)));
    }
  };
}

/** The same with audit events. It is a function of its own, so that a server without a policy pays nothing for it. */
export function createAuditedHandler(pipeline: Pipeline, auditor: Auditor): ApiHandler {
  return async (request) => {
    const { id, isOwn } = auditor.idOf(request);
    const warnings = beginWarnings(request);
    const response = await serveAudited({ pipeline, auditor, request, warnings }, id);
    const read = warnings.attach(asRead(request, response));
    // The transport repeats an id that the client sent.
    return isOwn ? { ...read, headers: { ...read.headers, 'audit-id': id } } : read;
  };
}

interface Audited {
  readonly pipeline: Pipeline;
  readonly auditor: Auditor;
  readonly request: ApiRequest;
  readonly warnings: Warnings;
}

async function serveAudited({ pipeline, auditor, request, warnings }: Audited, auditId: string): Promise<ApiResponse> {
  let user: User;
  try {
    user = await authenticate(pipeline.core.access.authenticators, request);
  } catch (error) {
    const response = await refused(pipeline, request, error);
    await auditor.begin(request, auditId, undefined)?.unauthenticated(response);
    return response;
  }
  const trail = auditor.begin(request, auditId, user);
  const incoming = { request, user, warnings, auditId };
  const response = await serveKnown(pipeline, auditor, trail === undefined ? incoming : { ...incoming, audit: trail });
  return trail === undefined ? response : trail.answered(response);
}

interface Known extends Omit<Incoming, 'flow'> {
  readonly audit?: AuditTrail;
}

async function serveKnown(pipeline: Pipeline, auditor: Auditor, known: Known): Promise<ApiResponse> {
  const { audit, request } = known;
  try {
    if (audit !== undefined) await auditor.received(audit);
    return await served(pipeline, known);
  } catch (error) {
    return refused(pipeline, request, error);
  }
}

function beginWarnings(request: ApiRequest): Warnings {
  const warnings = new Warnings();
  const hint = tokenWarning(request);
  if (hint !== undefined) warnings.add(hint);
  return warnings;
}

/** Adds flow control's headers to the response. */
async function served(pipeline: Pipeline, incoming: Omit<Incoming, 'flow'>): Promise<ApiResponse> {
  const flow: Incoming['flow'] = {};
  const response = await answer(pipeline, { ...incoming, flow });
  return flow.headers === undefined ? response : { ...response, headers: { ...response.headers, ...flow.headers } };
}

const refused = ({ core }: Pipeline, request: ApiRequest, error: unknown): ApiResponse | Promise<ApiResponse> =>
  asAccepted(request, errorAnswer(error, core.log));
