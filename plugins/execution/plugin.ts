import { definePlugin, PersonalDataPoint, RetentionPoint } from 'agent-gateway';
import { WorkflowDefinitionsRef, WorkflowEnginesRef } from '../workflow/contract.ts';
import { ExecutionConfig } from './config.ts';
import { JobGraphsPoint } from './contract.ts';
import { jobRoutes } from './routes/jobs.ts';
import {
  createPersonalData,
  EraseJobs,
  eraseJobsHere,
  eraseOwnJobs,
  JobsErased,
  retainedJobs,
} from './services/data-protection.ts';
import { createGraphs } from './services/graphs.ts';
import { createJobs } from './services/jobs.ts';
import { ENGINE, openEngine } from './services/open-engine.ts';
import { purgeGoneTenants } from './services/own-database.ts';

/** Milliseconds between two searches for jobs of purged tenants. */
const PURGE_EVERY_MS = 3_600_000;

export default definePlugin({
  name: 'execution',
  summary: 'The execution server: graphs as jobs, over a database of their own',
  kernel: '^1.0.0',
  config: ExecutionConfig,
  listen: {
    field: 'address',
    isRequired: true,
    alone: { without: 'platform', host: '127.0.0.1', port: 8080 },
  },
  jobs: [EraseJobs],
  needs: { engines: WorkflowEnginesRef, definitions: WorkflowDefinitionsRef },
  points: [JobGraphsPoint],
  async setup(scope, { engines, definitions }) {
    const { services, log } = scope;
    const contributed = scope.contributions(JobGraphsPoint);
    const storage = await openEngine(scope, engines);
    const jobs = createJobs({ ...storage, graphs: createGraphs({ definitions, contributed, log }) });

    scope.worker(EraseJobs, eraseOwnJobs(storage, services.events));
    if (!storage.isGateways) scope.on(JobsErased, eraseJobsHere(storage));
    scope.every(
      'purged-tenants',
      PURGE_EVERY_MS,
      (signal) => purgeGoneTenants(storage, services.tenants, signal),
      {
        immediately: true,
      },
    );
    scope.contribute(PersonalDataPoint, createPersonalData(storage, engines.tablesOf(ENGINE), services.jobs));
    scope.contribute(RetentionPoint, retainedJobs(storage));
    scope.route(...jobRoutes(jobs));
  },
});
