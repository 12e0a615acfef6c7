#!/usr/bin/env bash
# `driver` and `executor` are what Spark on Kubernetes starts its pods with; everything else is a command.
# tini is the first process: it passes signals on and buries orphans.
set -euo pipefail

case "${1:-}" in
    driver)
        shift
        exec tini -s -- spark-submit --deploy-mode client \
            --conf "spark.driver.bindAddress=${SPARK_DRIVER_BIND_ADDRESS:?set by Spark}" \
            --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" \
            "$@"
        ;;
    executor)
        mapfile -t options < <(env | sed -nE 's/^SPARK_JAVA_OPT_[0-9]+=(.*)$/\1/p')
        exec tini -s -- java "${options[@]}" \
            "-Xms${SPARK_EXECUTOR_MEMORY:?set by Spark}" "-Xmx$SPARK_EXECUTOR_MEMORY" \
            -cp "$SPARK_CONF_DIR:$SPARK_HOME/jars/*" \
            org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
            --driver-url "${SPARK_DRIVER_URL:?set by Spark}" \
            --executor-id "${SPARK_EXECUTOR_ID:?set by Spark}" \
            --cores "${SPARK_EXECUTOR_CORES:?set by Spark}" \
            --app-id "${SPARK_APPLICATION_ID:?set by Spark}" \
            --hostname "${SPARK_EXECUTOR_POD_IP:?set by Spark}" \
            --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID:-0}" \
            --podName "${SPARK_EXECUTOR_POD_NAME:-}"
        ;;
    *)
        exec tini -- "$@"
        ;;
esac
