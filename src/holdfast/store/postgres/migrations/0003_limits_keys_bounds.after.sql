-- Take away the indexes that only programs of the version before use: `job_lane`, `job_fresh` and `job_busy` are in their place.
drop index ns_job_ready;
drop index ns_job_news;
drop index ns_job_running;
